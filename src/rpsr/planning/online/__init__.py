"""Planning online: policies that look ahead from the current state, within a time per step."""
