import type { Mode } from '../../domain/settings.ts'
import { nearest } from '../../domain/text/nearest.ts'
import { isLoopback } from '../../domain/web-address.ts'
import { type ConfigDocument, type Fault, locate, pathKey, valueAt } from '../yaml/document.ts'
import { faultsOfIssues } from '../yaml/issues.ts'
import { byPosition, type Path, type Problem } from '../yaml/problem.ts'
import { parseConfigText } from '../yaml/tree.ts'
import { type ReadFile, readDiskFile, readText } from '../yaml/yaml-files.ts'
import { buildSettings, type ConfigSettings } from './build.ts'
import { type Environment, interpolate } from './interpolate.ts'
import { notifyTexts, notifyWarnings, writtenSecretFaults } from './notify.ts'
import { applyOverrides, modeVariableProblem, type Overrides } from './overrides.ts'
import { privateKeyFaults } from './private-keys.ts'
import { completeSandbox, sandboxFaults } from './sandbox-settings.ts'
import { MODES, settingsSchema } from './settings-schema.ts'

export type LoadSettingsOptions = {
  readonly file: string
  readonly env: Environment
  readonly overrides?: Overrides
  /** Keys that a running sandbox adds to a `mode: sandbox` file: an object with a config file's keys and absolute paths. */
  readonly sandbox?: unknown
  readonly readFile?: ReadFile
}

type SettingsLoaded =
  | { readonly ok: true; readonly settings: ConfigSettings; readonly warnings: readonly Problem[] }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** Reads and validates a config file. Reports all problems at once, in file order. */
export function loadSettings(options: LoadSettingsOptions): SettingsLoaded {
  const { file, env, overrides = {}, sandbox, readFile = readDiskFile } = options
  const read = readText(file, readFile)
  if (!read.ok) return { ok: false, problems: [read.problem] }
  const parsed = parseConfigText(file, read.text)
  if (parsed.faults.length > 0) return failed(parsed.document, parsed.faults)
  const written = parsed.document
  const filled = interpolate(written, env)
  const mode = valueAt(written.tree, ['mode'])
  const early = [...filled.faults, ...modeFaults(written), ...privateKeyFaults(filled.document)]
  if (mode === 'sandbox') early.push(...sandboxFaults(written))
  const completed =
    mode === 'sandbox' && sandbox !== undefined
      ? completeSandbox(filled.document, sandbox)
      : filled.document
  const document = applyOverrides(completed, { overrides, env })
  const modeProblem = modeVariableProblem(mode, env)
  const checked = checkTree(document)
  const faults = [...early, ...withoutRepeats(early, checked.faults)]
  if (checked.settings === undefined || faults.length > 0 || modeProblem !== undefined)
    return failed(document, faults, modeProblem)
  const { settings } = checked
  const exposed = writtenSecretFaults(written.tree, settings)
  if (exposed.length > 0) return failed(document, exposed)
  const plain = plainHttpFaults(settings)
  if (settings.mode === 'live' && plain.length > 0) return failed(document, plain)
  const warnings = [...warningFaults(settings), ...plain].map((fault) => locate(document, fault))
  return { ok: true, settings, warnings }
}

/** Reads only the mode of a config file, because a sandbox must start before its settings are complete. */
export function peekMode(options: {
  file: string
  readFile?: ReadFile
}): { ok: true; mode: Mode } | { ok: false; problems: readonly Problem[] } {
  const { file, readFile = readDiskFile } = options
  const read = readText(file, readFile)
  if (!read.ok) return { ok: false, problems: [read.problem] }
  const { document, faults } = parseConfigText(file, read.text)
  if (faults.length > 0) return failed(document, faults)
  const written = valueAt(document.tree, ['mode'])
  const mode = MODES.find((known) => known === written)
  return mode === undefined ? failed(document, [unknownMode(written)]) : { ok: true, mode }
}

function failed(document: ConfigDocument, faults: readonly Fault[], other?: Problem) {
  const problems = faults.map((fault) => locate(document, fault))
  if (other !== undefined) problems.push(other)
  return { ok: false as const, problems: problems.sort(byPosition) }
}

function checkTree(document: ConfigDocument): {
  settings: ConfigSettings | undefined
  faults: readonly Fault[]
} {
  // Compiling code for a schema that is used once takes longer than reading with it.
  const parsed = settingsSchema.safeParse(document.tree, { jitless: true })
  return parsed.success
    ? buildSettings(document.source.file, parsed.data)
    : { settings: undefined, faults: faultsOfIssues(document.tree, parsed.error.issues) }
}

/** Drops later faults of a value that already has one: they follow from it. */
function withoutRepeats(first: readonly Fault[], then: readonly Fault[]): Fault[] {
  const known = new Set(first.map((fault) => pathKey(fault.path)))
  return then.filter((fault) => !known.has(pathKey(fault.path)))
}

/** The mode must be literal: a variable would let the environment turn on `mode: live`. */
function modeFaults(document: ConfigDocument): Fault[] {
  const mode = valueAt(document.tree, ['mode'])
  if (typeof mode !== 'string' || !mode.includes('${')) return []
  const message = 'the mode cannot come from a variable'
  return [{ path: ['mode'], message, expected: `one of: ${MODES.join(', ')}` }]
}

function unknownMode(written: unknown): Fault {
  const message = written === undefined ? 'this key is missing' : 'this word is not known here'
  const suggestion = typeof written === 'string' ? nearest(written, MODES) : undefined
  return { path: ['mode'], message, expected: `one of: ${MODES.join(', ')}`, suggestion }
}

/** Anyone on the network path of plain http can read and change it: quotes, blocks, receipts, and tokens in URLs. */
function plainHttpFaults(settings: ConfigSettings): Fault[] {
  const { gasless, aggregator, chains, control, notify } = settings
  const addresses: (readonly [Path, string])[] = []
  if (gasless.baseUrl !== undefined) addresses.push([['gasless', 'baseUrl'], gasless.baseUrl])
  if (aggregator !== undefined) addresses.push([['aggregator', 'rpcUrl'], aggregator.rpcUrl])
  for (const { name, rpcUrls } of chains.values())
    for (const [index, url] of rpcUrls.entries())
      addresses.push([['chains', name, 'rpcUrls', index], url])
  if (control.telegram !== undefined)
    addresses.push([['control', 'telegram', 'apiRoot'], control.telegram.apiRoot])
  for (const { path, field, text } of notifyTexts(notify))
    if (field.isAddress) addresses.push([path, text])
  return addresses
    .filter(([, url]) => isPlainElsewhere(url))
    .map(([path]) => ({
      path,
      message: 'this is plain http to another machine: anybody on the way can read and change it',
      expected: 'https://, or a machine of its own: http:// to 127.0.0.1, through a tunnel',
    }))
}

function isPlainElsewhere(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !isLoopback(hostname)
}

function warningFaults(settings: ConfigSettings): Fault[] {
  const warnings: Fault[] = [...notifyWarnings(settings.notify)]
  if (!isLoopback(settings.http.host)) {
    const what = settings.http.page ? 'metrics, health and the page' : 'metrics and health'
    const message = `${what} are open to the network: this host is not loopback`
    warnings.push({ path: ['http', 'host'], message, expected: '127.0.0.1 behind a proxy' })
  }
  if (settings.aggregator?.proposer === 'trusted') {
    const { wallet } = settings.aggregator
    const message = `the service can make the account of wallet \`${wallet}\` do anything: \`trusted\` asks for no signature per call`
    const expected =
      'trustless, or a dedicated hot wallet that holds nothing else and has no rights anywhere'
    warnings.push({ path: ['aggregator', 'proposer'], message, expected })
  }
  return warnings
}
