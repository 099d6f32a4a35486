import { mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { onTestFinished } from 'vitest'
import type { ModuleView } from '../../src/domain/module.ts'
import { createModuleHost, type ModuleHost } from '../../src/strategies/custom/host/host.ts'
import { ROOT } from './process/cli.ts'

const ENTRY = join(ROOT, 'src/strategies/custom/runner/module-runner.ts')

let runner: Promise<string> | undefined

/**
 * The runner built from the current sources as one file; built once per worker, under a name that `no-survivors.ts`
 * searches for.
 */
export function builtRunner(): Promise<string> {
  const dir = join(tmpdir(), `tranched-${process.env['TRANCHED_TEST_RUN']}`, `${process.pid}`)
  const outfile = join(dir, 'module-runner.mjs')
  runner ??= build({
    entryPoints: [ENTRY],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
  }).then(() => outfile)
  return runner
}

export type LogLine = readonly [strategy: string, line: string]

type LoggingHost = ModuleHost & { readonly logged: readonly LogLine[] }

/** A host for several tests: the caller closes it. */
export async function lastingHost(): Promise<LoggingHost> {
  const found = await builtRunner()
  const logged: LogLine[] = []
  const host = createModuleHost({
    runner: () => found,
    output: (strategy, line) => logged.push([strategy, line]),
  })
  return { ...host, logged }
}

/** A host whose modules end with the test. */
export async function moduleHost(): Promise<LoggingHost> {
  const host = await lastingHost()
  onTestFinished(() => host.close())
  return host
}

export const A_VIEW: ModuleView = {
  slotSeconds: 1_800_000_000,
  nowSeconds: 1_800_000_002,
  balances: { USDC: { amount: 100_000_000n, decimals: 6 } },
  prices: {},
  memory: {},
}

/** Writes a module and its side files into a folder. */
export function writeModule(
  folder: string,
  text: string,
  beside: Readonly<Record<string, string>> = {},
): string {
  mkdirSync(folder, { recursive: true })
  for (const [name, content] of Object.entries(beside)) writeFileSync(join(folder, name), content)
  const file = join(folder, 'own.mjs')
  writeFileSync(file, text)
  return file
}
