// Programs whose clock runs faster than this one's: each loads libfaketime. A program that is started later gets the
// current fast time.
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const LIBRARIES = [
  process.env.LIBFAKETIME,
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1',
]

/** Time that passes `speed` times as fast from now on, and begins at `startMs` (epoch). */
export function createFastTime({ speed, startMs, dir }) {
  const library = LIBRARIES.find((file) => file !== undefined && existsSync(file))
  if (library === undefined)
    throw new Error('libfaketime is missing: install the Debian package, or name it by LIBFAKETIME')
  const bornMs = Date.now()
  const now = () => startMs + (Date.now() - bornMs) * speed
  // Child processes, above all the local EVM node, use the same time.
  const wrapper = join(dir, 'in-fast-time')
  const offset = `$(awk -v now="$(env -u LD_PRELOAD date +%s.%N)" 'BEGIN { printf "%+.3f", ${startMs / 1000} + (now - ${bornMs / 1000}) * ${speed} - now }')`
  writeFileSync(
    wrapper,
    `#!/bin/sh\nexport FAKETIME="${offset} x${speed}" FAKETIME_DONT_RESET=1 LD_PRELOAD=${library}\nexec "$@"\n`,
  )
  chmodSync(wrapper, 0o755)
  return {
    speed,
    wrapper,
    now,
    /** Resolves when this much of the fast time has passed. */
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms) / speed)),
    start(command, args, { env = {}, ...options } = {}) {
      return spawn(wrapper, [command, ...args], {
        stdio: ['ignore', 'pipe', 'pipe'],
        ...options,
        env: { ...process.env, ...env },
      })
    },
  }
}
