import type { ColumnType, JSONColumnType } from 'kysely';
import type {
  ConnectionStatus,
  JsonObject,
  RunStatus,
  RunTrigger,
  SpecVersionStatus,
  WorkspaceKind,
} from '../src/core/rows.ts';
import type { ReadPosition } from '../src/core/source/read-position.ts';
import type { DB, Generated } from './schema.gen.ts';

type Typed<Table, Known> = Omit<Table, keyof Known> & Known;
/** A jsonb column that is written as JSON text and read as any JSON value. */
type AnyJson = ColumnType<unknown, string, string>;
type NullableJsonObject = JSONColumnType<JsonObject | null, string | null | undefined, string | null>;

/** The tables: the generated types with what the migrations cannot say, shapes of jsonb and words of checks. */
export interface Database
  extends Omit<DB, 'workspaces' | 'specVersions' | 'connections' | 'runs' | 'quarantine' | 'callLog' | 'recordState'> {
  workspaces: Typed<DB['workspaces'], { kind: WorkspaceKind }>;
  specVersions: Typed<DB['specVersions'], { specJson: JSONColumnType<JsonObject>; status: SpecVersionStatus }>;
  connections: Typed<
    DB['connections'],
    { status: ConnectionStatus; paramsJson: JSONColumnType<JsonObject>; specOverridesJson: NullableJsonObject }
  >;
  runs: Typed<
    DB['runs'],
    {
      status: Generated<RunStatus>;
      trigger: RunTrigger;
      position: JSONColumnType<ReadPosition | null, string | null | undefined, string | null>;
    }
  >;
  quarantine: Typed<DB['quarantine'], { rawJson: AnyJson; validationErrors: AnyJson }>;
  callLog: Typed<
    DB['callLog'],
    { reqHeadersRedacted: JSONColumnType<JsonObject>; respHeaders: JSONColumnType<JsonObject> }
  >;
  recordState: Typed<DB['recordState'], { status: 'delivered' | 'quarantined' }>;
}
