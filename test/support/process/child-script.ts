import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { onTestFinished } from 'vitest'
import { temporaryDirectory } from '../state/state-directory.ts'

export type Script = (...args: readonly string[]) => ChildProcess

const PACKAGES = fileURLToPath(new URL('../../../node_modules', import.meta.url))

/**
 * Bundles a TypeScript file, because Node cannot run it directly, and returns a function that starts it. Children end
 * with the test. Use `packages: 'external'` for children that need installed packages, such as native ones.
 */
export async function childScript(
  entry: string,
  { packages = 'bundle' }: { readonly packages?: 'bundle' | 'external' } = {},
): Promise<Script> {
  const dir =
    packages === 'external' ? mkdtempSync(join(PACKAGES, '.child-')) : temporaryDirectory()
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const outfile = join(dir, 'child.mjs')
  await build({
    packages,
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
  })
  return (...args) => {
    const child = fork(outfile, args, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'], execArgv: [] })
    onTestFinished(() => {
      child.kill('SIGKILL')
    })
    return child
  }
}

/** The child's next message; rejects if it exits first. */
export async function messageFrom(child: ChildProcess): Promise<unknown> {
  const received = new AbortController()
  const { signal } = received
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(([message]) => message),
      once(child, 'exit', { signal }).then(([code]) => {
        throw new Error(`child exited with ${code} without a message`)
      }),
    ])
  } finally {
    received.abort()
  }
}

export async function killHard(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
