/**
 * An object with these properties in this order, all null. A copy of it, `{ ...blank }`, has room for all of them at
 * once; an object that gets them one by one grows again and again.
 */
export const blankObject = (names: readonly string[]): Readonly<Record<string, null>> =>
  JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:null`).join()}}`);
