import { describeVariables, type VariableDoc } from '../src/config/config.ts';

/** The text of `.env.example`: all variables are commented out. */
export function renderEnvExample(): string {
  const head = ['# Variables of the environment. Generated from src/config/config.ts by `npm run generate`.'];
  return [...head, ...describeVariables().map(renderVariable)].join('\n\n').concat('\n');
}

function renderVariable({ name, meaning, form, fallback }: VariableDoc): string {
  return `# ${meaning}\n# Form: ${form}.\n# ${name}=${fallback ?? ''}`;
}
