/** The thread of `decodeXml`: parses the document that it is started with, posts the result and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { AppError } from '../../errors.ts';
import { parseXml } from './parse-xml.ts';

/** Any other failure ends the thread with an error. */
export type ThreadResponse =
  | { readonly ok: true; readonly document: unknown }
  | { readonly ok: false; readonly message: string };

parentPort?.postMessage(respondTo(String(workerData)), []);

function respondTo(text: string): ThreadResponse {
  try {
    return { ok: true, document: parseXml(text) };
  } catch (error) {
    if (error instanceof AppError) return { ok: false, message: error.message };
    throw error;
  }
}
