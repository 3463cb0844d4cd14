// A grid over two coordinates. After the cuts come the number of each block's nodes, four numbers of each block's centre,
// and four of each node.

const INDEX: u32 = 5u * CUTS;
const CENTERS: u32 = INDEX + BLOCKS_X * BLOCKS_Y;
const NODES: u32 = CENTERS + 4u * BLOCKS_X * BLOCKS_Y;
const CELLS: u32 = SIDE - 1u;

// H, H', K, K' at both ends of a cell.
struct Basis {
    near: vec4<f32>,
    far: vec4<f32>,
}

fn basis(x: f32, h: f32) -> Basis {
    let y = 1.0 - x;
    let bend = 6.0 * x * y / h;
    return Basis(
        vec4<f32>(y * y * (1.0 + 2.0 * x), -bend, h * x * y * y, y * (1.0 - 3.0 * x)),
        vec4<f32>(x * x * (3.0 - 2.0 * x), bend, -h * x * x * y, x * (3.0 * x - 2.0)),
    );
}

fn corner(node: u32, a: vec4<f32>, b: vec4<f32>) -> vec3<f32> {
    let f = number(NODES + 4u * node);
    let g = vec2<f32>(number(NODES + 4u * node + 1u), number(NODES + 4u * node + 2u));
    let along = f * a.x + g.x * a.z;
    let value = along * b.x + g.y * a.x * b.z;
    let by_first = (f * a.y + g.x * a.w) * b.x + g.y * a.y * b.z;
    let by_second = along * b.y + g.y * a.x * b.w;
    return vec3<f32>(value, by_first, by_second);
}

fn model(at: vec3<f32>) -> Said {
    let step = vec2<f32>(STEP_X, STEP_Y);
    let cells = vec2<u32>(BLOCKS_X, BLOCKS_Y) * CELLS;
    let along = (at.xy - vec2<f32>(LOW_X, LOW_Y)) / step;
    let inside = clamp(along, vec2<f32>(0.0), vec2<f32>(cells));
    var off = (along - inside) * step;
    if SYMMETRY == HELICAL {
        // A period has no outside.
        off.y = 0.0;
    }
    let cell = min(vec2<u32>(inside), cells - 1u);
    let block = cell / CELLS;
    let which = block.x + block.y * BLOCKS_X;
    let center = number(CENTERS + 4u * which);
    let side = select(1.0, -1.0, center < 0.0);
    let beyond = length(off);
    if beyond > 0.0 {
        return Said(side * (CLEARANCE + beyond), vec3<f32>(side * off / beyond, 0.0));
    }
    let kept = numbers[INDEX + which];
    if kept == NO_NODES {
        let middle = (vec2<f32>(block) + 0.5) * f32(CELLS);
        let bound = side * max(abs(center) - length((inside - middle) * step), 0.0);
        return Said(bound, vec3<f32>(number(CENTERS + 4u * which + 1u), number(CENTERS + 4u * which + 2u), 0.0));
    }
    let t = inside - vec2<f32>(cell);
    let a = basis(t.x, step.x);
    let b = basis(t.y, step.y);
    let first = cell % CELLS;
    let node = kept * SIDE * SIDE + first.x + first.y * SIDE;
    let sum = corner(node, a.near, b.near) + corner(node + 1u, a.far, b.near)
        + corner(node + SIDE, a.near, b.far) + corner(node + SIDE + 1u, a.far, b.far);
    return Said(sum.x, vec3<f32>(sum.yz, 0.0));
}
