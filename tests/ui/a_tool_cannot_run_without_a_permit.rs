//! A tool takes its call only with a permit, and only the gate can make one.

use actors::permit::Permitted;
use actors::tool::{Scene, Tool};
use events::item::Call;

fn run(tool: &dyn Tool, call: Call, scene: Scene) {
    tool.run(call, scene);
}

fn forge(call: Call) -> Permitted<Call> {
    Permitted(call)
}

fn permit(call: Call, receipt: &store::Receipt) -> Permitted<Call> {
    actors::permit::permit(call, receipt)
}

fn main() {}
