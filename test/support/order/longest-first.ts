import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { slowFiles } from './slow-files.ts';

/** The projects in their order: the files of one follow each other, so that a process that they share is started once. */
const projects = ['alone', 'integration', 'shared', 'row security', 'unit'];

/**
 * Project by project, the slowest files of each first, so that a run does not end with one long file while the other
 * processes have nothing to do.
 */
export class LongestFirst extends BaseSequencer {
  /** The files of the table by their time, then the others in Vitest's order. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const others = await super.sort(files);
    return others.toSorted((a, b) => rankOf(a) - rankOf(b) || secondsOf(b) - secondsOf(a));
  }
}

const rankOf = ({ project }: TestSpecification): number => projects.indexOf(project.name);

/** 0: not in the table. The second run of a file, under row security, is short. */
const secondsOf = ({ moduleId, project }: TestSpecification): number =>
  project.name === 'row security' ? 0 : (slowFiles[relative(project.config.root, moduleId)] ?? 0);
