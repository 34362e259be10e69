"""Results of planning: value functions, policies, controllers, trees."""
