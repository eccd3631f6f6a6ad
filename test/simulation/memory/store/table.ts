/** Takes one change back. */
export type Undo = () => void;

/**
 * The rows of one table under a primary key. Rows are never changed in place, so what a transaction has read stays as it
 * was. Every change is noted in the journal that all tables of a store share.
 */
export class Table<Row extends object> {
  readonly #name: string;
  readonly #keyOf: (row: Row) => string;
  readonly #journal: Undo[];
  readonly #rows = new Map<string, Row>();

  constructor(name: string, keyOf: (row: Row) => string, journal: Undo[]) {
    this.#name = name;
    this.#keyOf = keyOf;
    this.#journal = journal;
  }

  /** Undefined: there is no such row. */
  get(key: string): Row | undefined {
    return this.#rows.get(key);
  }

  /** Every row, in the order of insertion. */
  all(): Row[] {
    return [...this.#rows.values()];
  }

  /** The rows for which the test is true, in the order of insertion. */
  where(test: (row: Row) => boolean): Row[] {
    return this.all().filter(test);
  }

  /** Throws when there is a row under the key, as PostgreSQL does. */
  insert(row: Row): Row {
    const key = this.#keyOf(row);
    if (this.#rows.has(key)) throw new Error(`duplicate key value violates the primary key of ${this.#name}`);
    this.#set(key, row);
    return row;
  }

  /** Inserts the row in place of the one under its key. */
  put(row: Row): Row {
    this.#set(this.#keyOf(row), row);
    return row;
  }

  /** Changes one row; the key stays. */
  update(row: Row, change: Partial<Row>): Row {
    return this.put({ ...row, ...change });
  }

  /** Changes the rows for which the test is true; returns them as they are now. */
  updateWhere(test: (row: Row) => boolean, change: Partial<Row>): Row[] {
    return this.where(test).map((row) => this.update(row, change));
  }

  /** Deletes the rows for which the test is true; returns how many. */
  deleteWhere(test: (row: Row) => boolean): number {
    const rows = this.where(test);
    for (const row of rows) this.#delete(this.#keyOf(row), row);
    return rows.length;
  }

  #set(key: string, row: Row): void {
    const before = this.#rows.get(key);
    this.#rows.set(key, row);
    this.#journal.push(before ? () => this.#rows.set(key, before) : () => this.#rows.delete(key));
  }

  #delete(key: string, row: Row): void {
    this.#rows.delete(key);
    this.#journal.push(() => this.#rows.set(key, row));
  }
}
