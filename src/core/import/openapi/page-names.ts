import { plainName } from './names.ts';

/*
 * Names that APIs use for pages, each as `plainName` writes it.
 */

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

/** Fields with the address of the next page, in any object. */
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

/** Fields with a token for the next page, in any object. */
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

export const moreFields = new Set(['hasmore', 'hasnext', 'hasnextpage', 'moreresults']);

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

/** Whether a parameter selects a page or its size. */
export function hasPosition(name: string): boolean {
  const plain = plainName(name);
  return [pageParams, offsetParams, tokenParams, keyParams, sizeParams].some((names) => names.has(plain));
}

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
