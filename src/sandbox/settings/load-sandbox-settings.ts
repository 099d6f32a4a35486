import { dirname, resolve } from 'node:path'
import {
  type ConfigDocument,
  type Fault,
  locate,
  type Tree,
  valueAt,
} from '../../config/yaml/document.ts'
import { faultsOfIssues } from '../../config/yaml/issues.ts'
import { byPosition, type Problem } from '../../config/yaml/problem.ts'
import { parseConfigText } from '../../config/yaml/tree.ts'
import { type ReadFile, readDiskFile, readText } from '../../config/yaml/yaml-files.ts'
import { type SandboxOptions, settingsOf } from '../options.ts'
import { readFaults } from './faults.ts'
import type { TypedFlag } from './flags.ts'
import { type SandboxSettings, sandboxSettingsSchema } from './sandbox-schema.ts'
import { withFlags } from './typed.ts'

type Failed = { readonly ok: false; readonly problems: readonly Problem[] }

/** Options from flags and the settings file, which may be absent. Flags take precedence. Reports all problems at once. */
export function loadSandboxOptions({
  file,
  typed,
  readFile = readDiskFile,
}: {
  readonly file?: string | undefined
  readonly typed: readonly TypedFlag[]
  readonly readFile?: ReadFile
}): { readonly ok: true; readonly options: SandboxOptions } | Failed {
  const written = readWritten(file, readFile)
  if (!written.ok) return written
  const { document, problems } = withFlags(written.document, typed)
  const parsed = sandboxSettingsSchema.safeParse(document.tree)
  const faults = parsed.success
    ? crossFaults(parsed.data)
    : faultsOfIssues(document.tree, parsed.error.issues)
  const found = faultsIn(document, readFile)
  const all = [...problems, ...faults.map((fault) => locate(document, fault)), ...found.problems]
  if (!parsed.success || all.length > 0) return { ok: false, problems: all.sort(byPosition) }
  const { faults: _, ...options } = parsed.data
  return {
    ok: true,
    options: found.faults === undefined ? options : { ...options, faults: found.faults },
  }
}

type Document = { readonly ok: true; readonly document: ConfigDocument } | Failed

function readWritten(file: string | undefined, readFile: ReadFile): Document {
  if (file === undefined) return documentOf('the command line', '{}')
  const read = readText(file, readFile, 'the path of a settings file; docs/sandbox.md has its keys')
  return read.ok ? documentOf(file, read.text) : { ok: false, problems: [read.problem] }
}

function documentOf(file: string, text: string): Document {
  const { document, faults } = parseConfigText(file, text)
  if (faults.length > 0)
    return { ok: false, problems: faults.map((fault) => locate(document, fault)).sort(byPosition) }
  return { ok: true, document: { ...document, tree: document.tree ?? {} } }
}

type FaultsFound = { readonly faults?: unknown; readonly problems: readonly Problem[] }

/** Faults are in the settings themselves or in a separate file. */
function faultsIn(document: ConfigDocument, readFile: ReadFile): FaultsFound {
  const written = valueAt(document.tree, ['faults'])
  if (written === undefined || written === null || Array.isArray(written)) return { problems: [] }
  if (typeof written !== 'string') return checkedFaults(document, written, ['faults'])
  const file = resolve(dirname(document.source.file), written)
  const read = readText(file, readFile, 'the path of a faults file; docs/sandbox.md has its rules')
  if (!read.ok) return { problems: [read.problem] }
  const own = documentOf(file, read.text)
  return own.ok ? checkedFaults(own.document, own.document.tree, []) : own
}

function checkedFaults(document: ConfigDocument, tree: Tree, path: readonly string[]): FaultsFound {
  const read = readFaults(tree, path)
  if (read.ok) return { faults: read.faults, problems: [] }
  return { problems: read.faults.map((fault) => locate(document, fault)) }
}

function crossFaults(settings: SandboxSettings): readonly Fault[] {
  return [...sharedPorts(settings.ports ?? {}), ...ambiguousRouting(settings)]
}

function sharedPorts(ports: Readonly<Record<string, number | undefined>>): readonly Fault[] {
  const takenBy = new Map<number, string>()
  const faults: Fault[] = []
  for (const [name, port] of Object.entries(ports)) {
    if (port === undefined || port === 0) continue
    const other = takenBy.get(port)
    const message = `ports.${other} has this port already`
    if (other === undefined) takenBy.set(port, name)
    else faults.push({ path: ['ports', name], message, expected: 'a port of its own, or 0' })
  }
  return faults
}

const AUTO = 'auto'

function ambiguousRouting(settings: SandboxSettings): readonly Fault[] {
  const { preferOwn, onlyOwn } = settingsOf(settings).gasless.wire
  const faultAt = (key: string, message: string): Fault => ({
    path: ['gasless', 'wire', key],
    message,
    expected: 'two different words, neither of them `auto`',
  })
  if (preferOwn === onlyOwn) return [faultAt('onlyOwn', 'this word is that of preferOwn already')]
  const message = 'this word means that the service chooses'
  return Object.entries({ preferOwn, onlyOwn })
    .filter(([, word]) => word === AUTO)
    .map(([key]) => faultAt(key, message))
}
