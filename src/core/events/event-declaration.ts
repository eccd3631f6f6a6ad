import type * as v from 'valibot';
import type { JsonObject } from '../json/json-object.ts';
import type { EventType } from '../resources/event-types.ts';

interface EventDeclaration {
  /** When it happens, in one sentence. */
  readonly summary: string;
  readonly data: v.GenericSchema<unknown, JsonObject>;
  readonly example: JsonObject;
}

export type EventDeclarations<Type extends EventType> = Readonly<Record<Type, EventDeclaration>>;
