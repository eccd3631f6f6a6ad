import * as v from 'valibot';
import { listWorkspaces } from '../../../db/queries/orgs/workspaces.ts';
import { createWorkspace } from '../../control/orgs/workspaces.ts';
import { WorkspaceKind, WorkspaceRow } from '../../core/resources/workspace.ts';
import { DisplayText } from '../inputs.ts';
import { route } from '../route.ts';

const tag = 'workspaces';

export const workspaceRoutes = [
  route({
    method: 'get',
    path: '/workspaces',
    summary: 'List the workspaces',
    tag,
    auth: 'api_key',
    status: 200,
    response: v.array(WorkspaceRow),
    errors: [],
    handle: ({ scope }, { db }) => listWorkspaces(db, scope),
  }),
  route({
    method: 'post',
    path: '/workspaces',
    summary: 'Create a workspace',
    tag,
    auth: 'api_key',
    body: v.object({ name: DisplayText, kind: WorkspaceKind }),
    bodyExample: { name: 'Europe', kind: 'prod' },
    status: 201,
    response: WorkspaceRow,
    errors: ['conflict'],
    repeated: 'same_response',
    handle: ({ scope, body }, deps) => createWorkspace(deps, scope, body),
  }),
];
