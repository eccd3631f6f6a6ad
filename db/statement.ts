import { type Compilable, type CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { Db } from './client.ts';

/** Stand for values in a statement that is built before they are known. */
export type Placeholders<Values> = { readonly [Name in keyof Values]: RawBuilder<Values[Name]> };

/**
 * Built once, for queries of every request and every page: building one takes as long as the response of the database.
 *
 * @param build is called once, with placeholders for the values.
 */
export function statement<Values extends object, Row>(
  build: (db: Db, values: Placeholders<Values>) => Compilable<Row> | RawBuilder<Row>,
): (db: Db, values: Values) => Promise<readonly Row[]> {
  let built: CompiledQuery<Row> | undefined;
  return async (db, values) => {
    built ??= compile(db, build);
    const parameters = built.parameters.map((parameter) =>
      // Placeholders have no other names than those of the values.
      parameter instanceof Placeholder ? values[parameter.name as keyof Values] : parameter,
    );
    const query: CompiledQuery<Row> = { ...built, parameters };
    return (await db.executeQuery<Row>(query)).rows;
  };
}

class Placeholder {
  readonly name: PropertyKey;
  constructor(name: PropertyKey) {
    this.name = name;
  }
}

function compile<Values extends object, Row>(
  db: Db,
  build: (db: Db, values: Placeholders<Values>) => Compilable<Row> | RawBuilder<Row>,
): CompiledQuery<Row> {
  const placeholders = new Proxy({} as Placeholders<Values>, { get: (_, name) => sql.val(new Placeholder(name)) });
  const built = build(db, placeholders);
  return 'isRawBuilder' in built ? built.compile(db) : built.compile();
}
