import { dirname, resolve } from 'node:path'
import {
  type ConfigDocument,
  type Fault,
  locate,
  type Tree,
  valueAt,
} from '../../config/yaml/document.ts'
import { type ReadFile, readDiskFile, readText } from '../../config/yaml/files.ts'
import { faultsOfIssues } from '../../config/yaml/issues.ts'
import { byPosition, type Problem } from '../../config/yaml/problem.ts'
import { parseConfigText } from '../../config/yaml/tree.ts'
import { routingWordsOf } from '../gasless/venue.ts'
import type { SandboxOptions } from '../options.ts'
import { readFaults } from './faults.ts'
import type { TypedFlag } from './flags.ts'
import { sandboxOptionsOf } from './options.ts'
import { type SandboxSettings, sandboxSettingsSchema } from './schema.ts'
import { withFlags } from './typed.ts'

export type LoadSandboxOptions = {
  /** Settings file; without one the flags stand alone. */
  readonly file?: string | undefined
  readonly typed: readonly TypedFlag[]
  readonly readFile?: ReadFile
}

export type SandboxOptionsLoaded =
  | { readonly ok: true; readonly options: SandboxOptions }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/**
 * What a sandbox is to be like: flags, then the settings file, then the defaults of its parts. Reports everything that is
 * wrong at once.
 */
export function loadSandboxOptions(given: LoadSandboxOptions): SandboxOptionsLoaded {
  const { readFile = readDiskFile } = given
  const written = readWritten(given.file, readFile)
  if (!written.ok) return written
  const { document, problems } = withFlags(written.document, given.typed)
  const parsed = sandboxSettingsSchema.safeParse(document.tree)
  const faults = parsed.success
    ? crossFaults(parsed.data)
    : faultsOfIssues(document.tree, parsed.error.issues)
  const found = faultsIn(document, readFile)
  const all = [...problems, ...faults.map((fault) => locate(document, fault)), ...found.problems]
  if (!parsed.success || all.length > 0) return { ok: false, problems: all.sort(byPosition) }
  const options = sandboxOptionsOf(parsed.data)
  return {
    ok: true,
    options: found.faults === undefined ? options : { ...options, faults: found.faults },
  }
}

type Document =
  | { readonly ok: true; readonly document: ConfigDocument }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** A file without any key is as good as none: everything stays at its default. */
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

/** Faults stand in the settings themselves or in a file of their own. */
function faultsIn(document: ConfigDocument, readFile: ReadFile): FaultsFound {
  const written = valueAt(document.tree, ['faults'])
  if (written === undefined || written === null || Array.isArray(written)) return { problems: [] }
  if (typeof written === 'string')
    return faultsOfFile(resolve(dirname(document.source.file), written), readFile)
  return checkedFaults(document, written, ['faults'])
}

function faultsOfFile(file: string, readFile: ReadFile): FaultsFound {
  const read = readText(file, readFile, 'the path of a faults file; docs/sandbox.md has its rules')
  if (!read.ok) return { problems: [read.problem] }
  const document = documentOf(file, read.text)
  if (!document.ok) return document
  return checkedFaults(document.document, document.document.tree, [])
}

function checkedFaults(document: ConfigDocument, tree: Tree, path: readonly string[]): FaultsFound {
  const read = readFaults(tree, path)
  if (read.ok) return { faults: read.faults, problems: [] }
  return { problems: read.faults.map((fault) => locate(document, fault)) }
}

/** What each key cannot know of the others. */
function crossFaults(settings: SandboxSettings): readonly Fault[] {
  return [...sharedPorts(settings.ports ?? {}), ...ambiguousWords(settings)]
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

/** The word of the third preference; no interface names another. */
const AUTO = 'auto'

function ambiguousWords(settings: SandboxSettings): readonly Fault[] {
  const { preferOwn, onlyOwn } = routingWordsOf(sandboxOptionsOf(settings))
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
