/** What a bench has measured, round by round, and how it is shown. */
import { median, rounded } from './figures.ts';

/** One piece of work, by one of those that are compared. */
export interface Measured {
  readonly seconds: number;
  readonly records: number;
  /** CPU seconds of whoever did it. */
  readonly cpu: number;
  /** CPU seconds of PostgreSQL meanwhile. */
  readonly postgresCpu: number;
  /** Highest resident set of the one process that did it, MB. */
  readonly peakMb?: number;
  /** Workflow tasks of the run. */
  readonly tasks?: number;
  /** Share of the machine's CPU that others took meanwhile: where it is large, only CPU seconds say something. */
  readonly noise: number;
}

/** A figure beside what it is wanted to be, if anything. */
export interface Goal {
  readonly what: string;
  /** Undefined: what it is made of was not measured this time. */
  readonly result: number | undefined;
  readonly unit: string;
  readonly atMost?: number;
  readonly atLeast?: number;
}

/** Collects rounds by scenario and by who did the work. */
export interface Results {
  add(scenario: string, who: string, measured: Measured): void;
  /** The median over all rounds; undefined without any. */
  middle(scenario: string, who: string, of: (measured: Measured) => number | undefined): number | undefined;
  /**
   * A figure of the service divided by another one's in the same round, the median over all rounds; undefined where
   * the two were not compared.
   */
  ratio(scenario: string, other: string, of: (measured: Measured) => number): number | undefined;
  /** One row for each scenario and each of those that did it. */
  table(): readonly Readonly<Record<string, unknown>>[];
}

/** The one whose ratio to the others is of interest. */
export const service = 'service';

/** Records per second. */
export const rateOf = ({ records, seconds }: Measured): number => records / seconds;

/** CPU seconds for a million records, those of PostgreSQL included. */
export const cpuOf = ({ records, cpu, postgresCpu }: Measured): number => ((cpu + postgresCpu) / records) * 1e6;

/** None yet. */
export function collectResults(): Results {
  const rounds = new Map<string, Map<string, Measured[]>>();
  const of = (scenario: string, who: string): readonly Measured[] => rounds.get(scenario)?.get(who) ?? [];
  const middle: Results['middle'] = (scenario, who, read) => {
    const values = of(scenario, who)
      .map(read)
      .filter((value) => value !== undefined);
    return values.length === 0 ? undefined : median(values);
  };
  const ratio: Results['ratio'] = (scenario, other, read) => {
    const others = of(scenario, other);
    const ratios = of(scenario, service).flatMap((own, round) => {
      const beside = others[round];
      return beside ? [read(own) / read(beside)] : [];
    });
    return ratios.length === 0 ? undefined : median(ratios);
  };
  return {
    middle,
    ratio,
    add(scenario, who, measured) {
      const known = rounds.get(scenario) ?? new Map<string, Measured[]>();
      rounds.set(scenario, known.set(who, [...(known.get(who) ?? []), measured]));
    },
    table: () =>
      [...rounds].flatMap(([scenario, byWho]) =>
        [...byWho.keys()].map((who) => {
          const show = (read: (measured: Measured) => number | undefined, digits?: number) => {
            const value = middle(scenario, who, read);
            return value === undefined ? '' : rounded(value, digits);
          };
          const share = (read: (measured: Measured) => number) => {
            const value = who === service ? undefined : ratio(scenario, who, read);
            return value === undefined ? '' : rounded(value);
          };
          return {
            scenario,
            who,
            s: show(({ seconds }) => seconds, 3),
            'records/s': show(rateOf, 0),
            'service / it': share(rateOf),
            'by cpu': share(cpuOf),
            'cpu s/M': show(({ cpu, records }) => (cpu / records) * 1e6, 1),
            'postgres s/M': show(({ postgresCpu, records }) => (postgresCpu / records) * 1e6, 1),
            'peak MB': show(({ peakMb }) => peakMb, 0),
            tasks: show(({ tasks }) => tasks, 0),
            'noise %': show(({ noise }) => noise * 100, 0),
          };
        }),
      ),
  };
}

/** Goals with their results, as rows of a table; what was not measured is left out. */
export const goalRows = (goals: readonly Goal[]): readonly Readonly<Record<string, unknown>>[] =>
  goals.flatMap(({ what, result, unit, ...wanted }) =>
    result === undefined ? [] : [{ what, result: rounded(result, 3), unit, ...checked(result, wanted) }],
  );

function checked(result: number, { atMost, atLeast }: Pick<Goal, 'atMost' | 'atLeast'>) {
  if (atMost !== undefined) return { goal: `<= ${atMost}`, met: result <= atMost };
  if (atLeast !== undefined) return { goal: `>= ${atLeast}`, met: result >= atLeast };
  return { goal: '', met: '' };
}
