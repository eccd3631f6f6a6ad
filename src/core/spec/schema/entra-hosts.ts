/** Azure clouds by the host of their Entra ID, with the scope of their databases. */
export const entraScopes = {
  'login.microsoftonline.com': 'https://database.windows.net/.default',
  'login.microsoftonline.us': 'https://database.usgovcloudapi.net/.default',
  'login.partner.microsoftonline.cn': 'https://database.chinacloudapi.cn/.default',
} as const;

/** A host that may issue tokens: this type keeps specs from sending a client secret elsewhere. */
export type EntraHost = keyof typeof entraScopes;

/** The first one is the public cloud. */
export const entraHosts = Object.keys(entraScopes) as readonly EntraHost[];
