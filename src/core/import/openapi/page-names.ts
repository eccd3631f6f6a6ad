import { plainName } from './names.ts';

/*
 * Names that APIs use for pages, each as `plainName` writes it.
 */

/** Parameters with the number of a page. */
export const pageParams = new Set(['page', 'pagenumber', 'pageno', 'pagenum', 'pageindex', 'currentpage']);

/** Parameters with a number of items to skip. */
export const offsetParams = new Set(['offset', 'skip', 'start', 'startat', 'startindex', 'pageoffset']);

/** Parameters with a token of the response before. */
export const tokenParams = new Set([
  'cursor',
  'pagetoken',
  'nextpagetoken',
  'nexttoken',
  'nextcursor',
  'continuationtoken',
  'paginationtoken',
  'after',
  'pagecursor',
  'pageafter',
  'startcursor',
  'starttoken',
  'marker',
  'continue',
  'scrollid',
]);

/** Parameters with the key of the last item. */
export const keyParams = new Set(['startingafter', 'afterid', 'sinceid']);

/** Parameters with the number of items of a page. */
export const sizeParams = new Set([
  'perpage',
  'pagesize',
  'limit',
  'size',
  'maxresults',
  'top',
  'pagelimit',
  'take',
  'itemsperpage',
  'resultsperpage',
  'recordsperpage',
  'count',
  'first',
  'rows',
  'maxitems',
]);

/** Fields with the address of the next page, whatever they are in. */
export const addressFields = new Set([
  'nexturl',
  'nextlink',
  'nextpageurl',
  'nexthref',
  'nextpagelink',
  'odatanextlink',
  'nexturi',
  'nextpageuri',
]);

/** Fields with a token for the next page, whatever they are in. */
export const tokenFields = new Set([
  'nextcursor',
  'nextpagetoken',
  'nexttoken',
  'nextpagecursor',
  'nextcontinuationtoken',
  'continuationtoken',
  'endcursor',
  'nextmarker',
  'nextafter',
  'aftercursor',
  'continue',
  'scrollid',
]);

/** Fields with the number of pages. */
export const pageCountFields = new Set(['totalpages', 'pagecount', 'lastpage', 'numpages', 'pages', 'pagestotal']);

/** Fields with the number of all items; `count` is often that of one page. */
export const totalFields = new Set([
  'total',
  'totalcount',
  'totalresults',
  'totalitems',
  'totalrecords',
  'totalsize',
  'totalelements',
]);

/** Fields that say whether there is another page. */
export const moreFields = new Set(['hasmore', 'hasnext', 'hasnextpage', 'moreresults']);

/** Names of the objects in a response that may hold its paging fields, in lower case without separators. */
export const pageObjects = new Set([
  'meta',
  'pagination',
  'paging',
  'page',
  'pageinfo',
  'links',
  'responsemetadata',
  'metadata',
  'cursors',
  'cursor',
  'next',
  'searchmetadata',
  'pages',
  'data',
  'result',
  'results',
  'response',
  'listmeta',
]);

/** Whether a parameter says which page is wanted. */
export function hasPosition(name: string): boolean {
  const plain = plainName(name);
  return [pageParams, offsetParams, tokenParams, keyParams, sizeParams].some((names) => names.has(plain));
}

/** Whether a field of a response says something of its pages. */
export function tellsOfPages(name: string): boolean {
  const plain = plainName(name);
  const fields = [
    addressFields,
    tokenFields,
    pageCountFields,
    totalFields,
    moreFields,
    pageObjects,
    pageParams,
    sizeParams,
  ];
  return [...fields, offsetParams, otherFields].some((names) => names.has(plain));
}

const otherFields = new Set([
  'previous',
  'prev',
  'count',
  'success',
  'ok',
  'status',
  'message',
  'object',
  'url',
  'kind',
  'type',
  'apiversion',
]);
