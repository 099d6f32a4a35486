import { dirname, resolve } from 'node:path'
import { type ConfigDocument, valueAt } from '../yaml/document.ts'
import { parseConfigText } from '../yaml/tree.ts'
import { readDiskFile, readText } from '../yaml/yaml-files.ts'
import { type Environment, interpolate } from './interpolate.ts'
import type { LoadSettingsOptions } from './load-settings.ts'

/** The key at the beginning of a line, where the keys of the whole file stand. */
const STATE_DIR_LINE = /^(?:stateDir|"stateDir"|'stateDir')[ \t]*:.*$/gm

/**
 * The state directory of a config file that need not be valid in any other respect; absolute. Undefined where the file
 * cannot be read, or does not say clearly where: an operator who halts must not believe that it holds where it does not.
 */
export function findStateDir({
  file,
  env,
  readFile = readDiskFile,
}: Pick<LoadSettingsOptions, 'file' | 'env' | 'readFile'>): string | undefined {
  const read = readText(file, readFile)
  if (!read.ok) return undefined
  const lines = read.text.match(STATE_DIR_LINE) ?? []
  if (lines.length > 1) return undefined
  const written = stateDirIn(parseConfigText(file, read.text).document, env)
  // A fault further up can hide the rest of a file from the parser.
  const found = written ?? stateDirIn(parseConfigText(file, lines[0] ?? '').document, env)
  return found === undefined ? undefined : resolve(dirname(file), found)
}

function stateDirIn(document: ConfigDocument, env: Environment): string | undefined {
  const given = valueAt(document.tree, ['stateDir'])
  if (typeof given !== 'string' || given.trim() === '') return undefined
  const { document: filled, faults } = interpolate({ ...document, tree: [given] }, env)
  const value = valueAt(filled.tree, [0])
  return faults.length === 0 && typeof value === 'string' ? value : undefined
}
