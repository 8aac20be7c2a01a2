//! Interceptors may change a request, so nobody outside the crate can be one or see one.

use actors::interceptor::{Interceptor, RequestCopy};

struct Mine;

impl Interceptor for Mine {}

fn main() {}
