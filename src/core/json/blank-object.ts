/**
 * An object with these properties in this order, all null. A copy (`{ ...blank }`) has room for all of them, while
 * adding them one by one regrows the object.
 */
export const blankObject = (names: readonly string[]): Readonly<Record<string, null>> =>
  JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:null`).join()}}`);
