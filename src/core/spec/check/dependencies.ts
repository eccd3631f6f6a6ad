import type { Issue } from '../../errors.ts';
import type { ParseExpression } from '../../expressions/expression-parser.ts';
import { listIn } from './declared-names.ts';
import { cycleIssues, type GraphEdge, type GraphNode } from './dependency-graph.ts';
import { type Located, valuesAt } from './document-paths.ts';
import { inferredDependencies, type StepKind } from './step-dependencies.ts';

/** Checks that every dependency exists, and that no lookup, enrichment or resource depends on itself. */
export function checkDependencies(document: unknown, parse: ParseExpression): readonly Issue[] {
  const tables = stepsAt(document, 'lookups.*', { kind: 'lookup', parse });
  const resources = resourceSteps(document);
  return [
    ...unknownNames(tables, { known: namesOf(tables), what: 'lookup' }),
    ...cycleIssues(tables),
    ...unknownNames(resources, { known: namesOf(resources), what: 'resource' }),
    ...cycleIssues(resources),
    ...listIn(document, 'resources').flatMap((_, index) => checkEnrichments(document, index, { tables, parse })),
    ...unknownNames(namesAt(document), { known: namesOf(tables), what: 'lookup' }),
    ...unknownNames(testResources(document), { known: namesOf(resources), what: 'resource' }),
  ];
}

/** `declared` edges are written as names; the others are inferred from expressions that compile to `$lookups.x`. */
interface Step extends GraphNode {
  readonly declared: readonly GraphEdge[];
}

interface EnrichContext {
  readonly tables: readonly Step[];
  readonly parse: ParseExpression;
}

interface Inference {
  readonly kind: StepKind;
  readonly parse: ParseExpression;
}

function checkEnrichments(document: unknown, index: number, { tables, parse }: EnrichContext): readonly Issue[] {
  const steps = stepsAt(document, `resources.${index}.enrich.*`, { kind: 'enrichment', parse });
  const known = new Set([...namesOf(tables), ...namesOf(steps)]);
  return [...unknownNames(steps, { known, what: 'enrichment or lookup' }), ...cycleIssues(steps)];
}

function stepsAt(document: unknown, pattern: string, { kind, parse }: Inference): readonly Step[] {
  return valuesAt(document, pattern).map((step) => {
    const declared = edgesAt(step, 'dependsOn.*');
    const names = new Set(declared.map(({ to }) => to));
    const inferred = inferredDependencies(step, kind, parse).filter((name) => !names.has(name));
    const edges = [...declared, ...inferred.map((to) => ({ to, path: step.path }))];
    return { name: textAt(step, 'assignTo'), declared, edges };
  });
}

const resourceSteps = (document: unknown): readonly Step[] =>
  valuesAt(document, 'resources.*').map((resource) => {
    const declared = [...edgesAt(resource, 'dependsOn.*'), ...parentEdges(resource)];
    return { name: textAt(resource, 'key'), declared, edges: declared };
  });

const parentEdges = (resource: Located): readonly GraphEdge[] =>
  ['forEach.*.resource', 'forEach.*.union.*.resource'].flatMap((at) => edgesAt(resource, at));

/** Lookups named by `changeDetection`, as steps, so that unknown names are found the same way. */
const namesAt = (document: unknown): readonly Step[] =>
  valuesAt(document, 'resources.*').map((resource) => {
    const declared = edgesAt(resource, 'changeDetection.lookups.*');
    return { name: '', declared, edges: [] };
  });

const testResources = (document: unknown): readonly Step[] =>
  valuesAt(document, 'tests.*').map((test) => ({ name: '', declared: edgesAt(test, 'resource'), edges: [] }));

interface Known {
  readonly known: ReadonlySet<string>;
  readonly what: string;
}

const unknownNames = (steps: readonly Step[], { known, what }: Known): readonly Issue[] =>
  steps
    .flatMap(({ declared }) => declared)
    .filter(({ to }) => !known.has(to))
    .map(({ to, path }) => ({ code: 'unresolved_dependency', path, message: `there is no ${what} \`${to}\`` }));

const namesOf = (steps: readonly Step[]): ReadonlySet<string> => new Set(steps.map(({ name }) => name));

function edgesAt(step: Located, pattern: string): readonly GraphEdge[] {
  return valuesAt(step.value, pattern).flatMap(({ path, value }) =>
    typeof value === 'string' ? [{ to: value, path: `${step.path}.${path}` }] : [],
  );
}

function textAt(step: Located, key: string): string {
  const [found] = valuesAt(step.value, key);
  return typeof found?.value === 'string' ? found.value : '';
}
