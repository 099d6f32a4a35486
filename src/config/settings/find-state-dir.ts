import { dirname, resolve } from 'node:path'
import { type ConfigDocument, valueAt } from '../yaml/document.ts'
import { parseConfigText } from '../yaml/tree.ts'
import { readDiskFile, readText } from '../yaml/yaml-files.ts'
import { type Environment, interpolate } from './interpolate.ts'
import type { LoadSettingsOptions } from './load-settings.ts'

/** A top-level `stateDir` key: it starts its line. */
const STATE_DIR_LINE = /^(?:stateDir|"stateDir"|'stateDir')[ \t]*:.*$/gm

/**
 * The absolute state directory of a config file that may be invalid otherwise. Undefined if the file is unreadable or
 * ambiguous: a halt must not be written where the daemon does not look for it.
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
  // An earlier fault can hide the rest of a file from the parser.
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
