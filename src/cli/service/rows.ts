import * as v from 'valibot';
import { ConnectionRow } from '../../core/resources/connection.ts';
import { QuarantineRow } from '../../core/resources/quarantine.ts';
import { CallLogRow, RunRow } from '../../core/resources/run.ts';
import { SpecRow } from '../../core/resources/spec.ts';
import { WorkspaceRow } from '../../core/resources/workspace.ts';

export const SpecRows = v.array(SpecRow);
export const ConnectionRows = v.array(ConnectionRow);
export const WorkspaceRows = v.array(WorkspaceRow);
export const RunRows = v.array(RunRow);
export const CallRows = v.array(CallLogRow);
export const QuarantineRows = v.array(QuarantineRow);
