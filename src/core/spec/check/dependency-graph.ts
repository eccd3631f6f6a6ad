import type { Issue } from '../../errors.ts';

export interface GraphNode {
  readonly name: string;
  readonly edges: readonly GraphEdge[];
}

export interface GraphEdge {
  readonly to: string;
  readonly path: string;
}

/**
 * Reports one `cycle` issue per loop, at the edge that closes it in document order. Edges to unknown names are skipped;
 * each step is entered once.
 */
export function cycleIssues(nodes: readonly GraphNode[]): readonly Issue[] {
  const byName = new Map(nodes.toReversed().map((node) => [node.name, node]));
  const search: Search = { byName, done: new Set(), trail: [], issues: [] };
  for (const { name } of nodes) visit(name, search);
  return search.issues;
}

interface Search {
  readonly byName: ReadonlyMap<string, GraphNode>;
  readonly done: Set<string>;
  readonly trail: string[];
  readonly issues: Issue[];
}

function visit(name: string, search: Search): void {
  const node = search.byName.get(name);
  if (!node || search.done.has(name)) return;
  search.trail.push(name);
  for (const edge of node.edges) {
    const start = search.trail.indexOf(edge.to);
    if (start === -1) visit(edge.to, search);
    else search.issues.push(cycle(edge, search.trail.slice(start)));
  }
  search.trail.pop();
  search.done.add(name);
}

const cycle = (edge: GraphEdge, loop: readonly string[]): Issue => ({
  code: 'cycle',
  path: edge.path,
  message: `depends on itself: ${[...loop, edge.to].join(' -> ')}`,
});
