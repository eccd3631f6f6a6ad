/** What the vendors of numbered lists say of a page besides its records. */

/** A page of a list. */
export interface PageFacts {
  readonly url: URL;
  /** Its number, or its offset as the vendor counts. */
  readonly position: number;
  /** Items before it. */
  readonly from: number;
  readonly size: number;
  readonly count: number;
  readonly total: number;
}

/** Values by their path in the body, and headers. */
interface Says {
  readonly body?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

const isLast = ({ from, size, total }: PageFacts): boolean => from + size >= total;
const pagesOf = ({ size, total }: PageFacts): number => Math.ceil(total / size);

/** The header `Link`, by page numbers. */
function linked(page: PageFacts): Says {
  if (isLast(page)) return {};
  const next = new URL(page.url);
  next.searchParams.set('page', String(page.position + 1));
  return { headers: { link: `<${next.href}>; rel="next"` } };
}

const vendors: Readonly<Record<string, (page: PageFacts) => Says>> = {
  clickup: (page) => ({ body: { last_page: isLast(page) } }),
  gitea: linked,
  github: linked,
  gitlab: (page) => ({
    headers: { ...linked(page).headers, 'x-next-page': isLast(page) ? '' : `${page.position + 1}` },
  }),
  hubspot: ({ total }) => ({ body: { total } }),
  intercom: (page) => ({ body: { 'pages.total_pages': pagesOf(page), 'pages.page': page.position } }),
  jira: (page) => ({ body: { startAt: page.from, total: page.total, isLast: isLast(page) } }),
  mailchimp: ({ total }) => ({ body: { total_items: total } }),
  notion: (page) => ({
    body: { has_more: !isLast(page), next_cursor: isLast(page) ? null : String(page.position + 1) },
  }),
  pagerduty: (page) => ({ body: { offset: page.from, total: page.total, more: !isLast(page) } }),
  pocketbase: (page) => ({ body: { page: page.position, totalItems: page.total, totalPages: pagesOf(page) } }),
  quickbooks: ({ position, count }) => ({
    body: { 'QueryResponse.startPosition': position, 'QueryResponse.maxResults': count },
  }),
  sendgrid: () => ({}),
  woocommerce: (page) => ({ headers: { 'x-wp-total': `${page.total}`, 'x-wp-totalpages': `${pagesOf(page)}` } }),
  xero: (page) => ({ body: { 'pagination.pageCount': pagesOf(page), 'pagination.itemCount': page.total } }),
};

/** Throws for a vendor that is not known. */
export function saysOf(connector: string, page: PageFacts): Says {
  const says = vendors[connector];
  if (!says) throw new Error(`Nobody has said how ${connector} counts its pages`);
  return says(page);
}
