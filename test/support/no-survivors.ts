import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const MARKER = 'TRANCHED_TEST_RUN'
const GRACE_MS = 5_000
const WATCHED = /anvil|tranched\.js|prometheus|pm2|God Daemon|chromium/i

type Process = { readonly pid: number; readonly command: string }

/** Module processes have no environment; their program lies in the checkout, or where this run built it. */
const MODULE = /module-runner\.mjs$/
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Fails the run when a process that a test started outlives it: a local EVM node, a daemon, a supervisor. Every child
 * inherits this run's marker in its environment. Survivors are killed, so that they do not affect the next run.
 */
export function setup(): () => Promise<void> {
  const marker = randomUUID()
  process.env[MARKER] = marker
  return async () => {
    const survivors = await waitForEnd(marker)
    rmSync(join(tmpdir(), `tranched-${marker}`), { recursive: true, force: true })
    for (const { pid } of survivors) kill(pid)
    if (survivors.length === 0) return
    // The runner prints an error of a teardown, but does not fail for it.
    process.exitCode = 1
    const list = survivors.map(({ pid, command }) => `${pid} ${command}`).join('\n')
    throw new Error(`processes that tests started are still running:\n${list}`)
  }
}

async function waitForEnd(marker: string): Promise<readonly Process[]> {
  const deadline = performance.now() + GRACE_MS
  for (;;) {
    const found = marked(marker)
    if (found.length === 0 || performance.now() > deadline) return found
    await sleep(100)
  }
}

/** Reads /proc, so it works on Linux only; CI runs there. */
function marked(marker: string): readonly Process[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      const environment = readProc(name, 'environ')
      const command = readProc(name, 'cmdline').replaceAll('\0', ' ').trim()
      const isMarked = environment.split('\0').includes(`${MARKER}=${marker}`)
      const isModule = MODULE.test(command) && (command.includes(ROOT) || command.includes(marker))
      const ours = isModule || (isMarked && WATCHED.test(command))
      return ours ? [{ pid: Number(name), command: command.slice(0, 200) }] : []
    })
}

/** Empty for a process that has ended or belongs to another user. */
function readProc(pid: string, file: 'environ' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has just ended by itself.
  }
}
