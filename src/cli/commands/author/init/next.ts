import { resolve } from 'node:path'
import { shellWord } from '../../../../domain/shell-word.ts'

/** Lines to type one after the other, as they stand, and what is said before. No note stands in a line: not every shell takes one. */
export type Steps = { readonly said: readonly string[]; readonly lines: readonly string[] }

const PASSWORD_FILE = 'keys/trader.pass'

/** A first run, from within the folder. */
export function sandboxSteps(program: string): Steps {
  return {
    said: [
      'In the sandbox, without a key or a network. `run` trades within seconds, Ctrl-C stops it, and `report` tells what',
      'came of it:',
    ],
    lines: ['validate', 'run', 'report'].map((command) => `${program} ${command}`),
  }
}

/** What comes before a run by the config beside the sandbox's. `variables` are those that it takes values from. */
export function configSteps(
  program: string,
  { config, variables }: { readonly config: string; readonly variables: readonly string[] },
): Steps {
  return {
    said: [
      `With ${config}, once it is filled in.`,
      ...(variables.length === 0 ? [] : [`It takes ${inWords(variables)} from the environment.`]),
      'The first line makes a password and the second a key; `validate` says what is missing, `doctor` asks chains and services:',
    ],
    lines: [
      // A shell that writes over no file: without its password a keystore is lost.
      `(umask 077; set -C; head -c 24 /dev/urandom | base64 > ${PASSWORD_FILE})`,
      `${program} wallet new --out keys/trader.json --password-file ${PASSWORD_FILE}`,
      `${program} validate --config ${config}`,
      `${program} doctor --config ${config}`,
    ],
  }
}

/** How the reader gets into the folder; nothing where he is there. */
export function cdLines(dir: string, workingDirectory: string): readonly string[] {
  if (resolve(workingDirectory, dir) === resolve(workingDirectory)) return []
  return [`cd ${shellWord(dir.startsWith('-') ? `./${dir}` : dir)}`]
}

/** The variables of the environment that a config takes values from, those of its comments left out. */
export function variablesOf(text: string): readonly string[] {
  const stated = text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .map((line) => line.replace(/ # .*$/, ''))
    .join('\n')
  return [...new Set([...stated.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name))]
}

function inWords(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}
