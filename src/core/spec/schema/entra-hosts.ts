/** The clouds of Azure by the host of their Entra ID, and the scope of their databases. */
export const entraScopes = {
  'login.microsoftonline.com': 'https://database.windows.net/.default',
  'login.microsoftonline.us': 'https://database.usgovcloudapi.net/.default',
  'login.partner.microsoftonline.cn': 'https://database.chinacloudapi.cn/.default',
} as const;

/** A host that tokens may be requested from: with this type no spec sends a client secret elsewhere. */
export type EntraHost = keyof typeof entraScopes;

/** All of them; the first one is that of the public cloud. */
export const entraHosts = Object.keys(entraScopes) as readonly EntraHost[];
