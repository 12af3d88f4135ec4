"""What a workspace does, a module a stage of the path: functions on a `Place` and its records."""
