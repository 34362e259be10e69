"""What planning finds and how it is followed: value functions, policies, controllers, trees."""
