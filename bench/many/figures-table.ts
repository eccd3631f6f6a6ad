/** What each kind of run took, round by round. */
import { median, rounded } from '../support/figures.ts';
import { engineOf, type PerRun, shown } from './per-run.ts';

/** One round of one kind. */
interface Round {
  readonly cpu: PerRun;
  /** Runs that ended in a second; absent: a clock decides that. */
  readonly rate?: number;
  /** Of their latencies, s. */
  readonly p95?: number;
  /** Share of the machine's CPU that others took meanwhile. */
  readonly noise: number;
}

/** Rounds by kind. */
export interface Kinds {
  add(kind: string, round: Round): void;
  /** The median over all rounds; undefined without any. */
  middle(kind: string, of: (round: Round) => number | undefined): number | undefined;
  /** A figure of one kind divided by that of another in the same round, the median over all rounds; undefined without any. */
  beside(kind: string, other: string, of: (round: Round) => number | undefined): number | undefined;
  /** One row for each kind. */
  table(other: string): readonly object[];
}

/** None yet; `tell` is given a line for each round, as it all takes minutes. */
export function collectKinds(tell: (line: string) => void): Kinds {
  const kinds = new Map<string, Round[]>();
  const middle: Kinds['middle'] = (kind, of) => medianOf((kinds.get(kind) ?? []).map(of));
  const beside: Kinds['beside'] = (kind, other, of) => {
    const others = kinds.get(other) ?? [];
    return medianOf(
      (kinds.get(kind) ?? []).map((round, index) => ratioOf(of(round), others[index] && of(others[index]))),
    );
  };
  return {
    middle,
    beside,
    add(kind, round) {
      kinds.set(kind, [...(kinds.get(kind) ?? []), round]);
      const { rate, p95, noise } = round;
      tell(`${kind}: ${JSON.stringify({ ...shown(round.cpu), rate, p95, noise })}`);
    },
    table: (other) =>
      [...kinds.keys()].map((kind) => {
        const show = (of: (round: Round) => number | undefined, digits = 1) => {
          const value = middle(kind, of);
          return value === undefined ? '' : rounded(value, digits);
        };
        const cpu = (name: keyof PerRun) => middle(kind, (round) => round.cpu[name]) ?? 0;
        return {
          'CPU ms per run': kind,
          ...shown({
            temporal: cpu('temporal'),
            worker: cpu('worker'),
            api: cpu('api'),
            postgres: cpu('postgres'),
            destination: cpu('destination'),
          }),
          'temporal + worker': show((round) => engineOf(round.cpu)),
          'beside the floor': rounded(beside(kind, other, (round) => engineOf(round.cpu)) ?? Number.NaN),
          'runs/s': show(({ rate }) => rate, 0),
          'p95 s': show(({ p95 }) => p95, 2),
          'noise %': show(({ noise }) => noise * 100, 0),
        };
      }),
  };
}

const ratioOf = (own: number | undefined, other: number | undefined): number | undefined =>
  own === undefined || other === undefined ? undefined : own / other;

function medianOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : median(known);
}
