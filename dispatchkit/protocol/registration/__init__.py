"""What users register: handlers, conversions and array types, checked before anything is stored."""
