import * as v from 'valibot';
import { ConnectionRow } from '../../core/resources/connection.ts';
import { QuarantineRow } from '../../core/resources/quarantine.ts';
import { CallLogRow, RunRow } from '../../core/resources/run.ts';
import { SpecRow } from '../../core/resources/spec.ts';
import { WorkspaceRow } from '../../core/resources/workspace.ts';

/** A list of specs, as the REST API responds with it; so are the lists below. */
export const SpecRows = v.array(SpecRow);
/** A list of connections. */
export const ConnectionRows = v.array(ConnectionRow);
/** A list of workspaces. */
export const WorkspaceRows = v.array(WorkspaceRow);
/** A list of runs. */
export const RunRows = v.array(RunRow);
/** A list of logged requests of runs. */
export const CallRows = v.array(CallLogRow);
/** A list of quarantined records. */
export const QuarantineRows = v.array(QuarantineRow);
