import type { Route } from '../route.ts';
import { apiKeyRoutes } from './api-keys.ts';
import { connectionRoutes } from './connections.ts';
import { oauthRoutes } from './oauth.ts';
import { quarantineRoutes } from './quarantine.ts';
import { runRoutes } from './runs.ts';
import { scheduleRoutes } from './schedules.ts';
import { specRoutes } from './specs.ts';
import { workspaceRoutes } from './workspaces.ts';

/** Every endpoint below `/api/v1`, in the order of the interface specification. */
export const routes: readonly Route[] = [
  ...specRoutes,
  ...connectionRoutes,
  ...scheduleRoutes,
  ...runRoutes,
  ...quarantineRoutes,
  ...apiKeyRoutes,
  ...oauthRoutes,
  ...workspaceRoutes,
];
