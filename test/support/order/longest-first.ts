import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { slowFiles } from './slow-files.ts';

/** Starts the slowest files first, so that a run does not end with one long file while the other processes have nothing to do. */
export class LongestFirst extends BaseSequencer {
  /** The files of the table by their time, then the others in Vitest's order. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const listed = files.filter((file) => secondsOf(file) > 0).toSorted((a, b) => secondsOf(b) - secondsOf(a));
    const others = await super.sort(files.filter((file) => secondsOf(file) === 0));
    return [...listed, ...others];
  }
}

/** 0: not in the table. The second run of a file, under row security, is short. */
const secondsOf = ({ moduleId, project }: TestSpecification): number =>
  project.name === 'row security' ? 0 : (slowFiles[relative(project.config.root, moduleId)] ?? 0);
