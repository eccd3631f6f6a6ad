const functions = `sum count max min average string substring substringBefore substringAfter lowercase uppercase length
  trim pad match contains replace split join formatNumber formatBase formatInteger parseInteger number floor ceil round
  abs sqrt power boolean not map zip filter single reduce sift keys lookup append exists spread merge reverse each error
  assert type sort distinct base64encode base64decode encodeUrlComponent encodeUrl decodeUrlComponent decodeUrl toMillis
  fromMillis clone now millis`;

/** Functions that this service adds to jsonata, without `$`. */
export const ownFunctions: ReadonlySet<string> = new Set(['zoneOffset']);

/** Functions that an expression may call, without `$`: those of jsonata 2.2 and our own. */
export const knownFunctions: ReadonlySet<string> = new Set([...functions.split(/\s+/), ...ownFunctions]);

/** Functions of jsonata that are refused: a repeated page must give the same rows, and no text becomes code. */
export const refusedFunctions: ReadonlySet<string> = new Set(['random', 'shuffle', 'eval']);
