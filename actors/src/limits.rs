//! Every bound that is not a setting of a pod, by name and with its reason.
