import type * as v from 'valibot';
import type { JsonObject } from '../json/json-object.ts';
import type { EventType } from '../resources/event-types.ts';

/** What is published about one type of event. */
interface EventDeclaration {
  /** When it happens, in one sentence. */
  readonly summary: string;
  readonly data: v.GenericSchema<unknown, JsonObject>;
  /** Data as an event could have them. */
  readonly example: JsonObject;
}

/** The declarations of some types. */
export type EventDeclarations<Type extends EventType> = Readonly<Record<Type, EventDeclaration>>;
