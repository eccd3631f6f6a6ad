import { seededFractions } from '../random/seeded.ts';

/** Cron expressions of every kind, the same ones in each run. */
export function cronExpressions(count: number): readonly string[] {
  const draw = seededFractions(20_261_121);
  const pick = <T>(values: readonly T[]): T => {
    const value = values[Math.floor(draw() * values.length)];
    if (value === undefined) throw new Error('nothing to pick from');
    return value;
  };
  const between = (min: number, max: number) => min + Math.floor(draw() * (max - min + 1));
  const field = (min: number, max: number, special: readonly string[] = []): string => {
    const from = between(min, max);
    const to = between(from, max);
    const forms = [
      '*',
      `${from}`,
      `${from}-${to}`,
      `${from}-${to}/${between(1, 7)}`,
      `*/${between(2, max)}`,
      `${from}/${between(1, 9)}`,
      [from, between(min, max), between(min, max)].join(','),
      ...special,
    ];
    return pick(forms);
  };
  const expression = () => {
    const day = field(1, 31, ['*', '*', '?', 'L', `${between(1, 28)},L`]);
    const weekday = field(0, 7, [
      '*',
      '*',
      '?',
      'MON-FRI',
      'sun',
      `${between(0, 7)}L`,
      `${between(0, 6)}#${between(1, 5)}`,
    ]);
    const month = field(1, 12, ['*', '*', '*', 'JAN', 'feb,JUN-aug']);
    const minutes = [field(0, 59), field(0, 23), day, month, weekday];
    return [...(draw() < 0.4 ? [field(0, 59)] : []), ...minutes].join(' ');
  };
  return Array.from({ length: count }, expression);
}
