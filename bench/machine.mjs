import { execFileSync } from 'node:child_process'
import { cpus, loadavg, totalmem } from 'node:os'
import { cacheDir } from './bundle.mjs'

/** The machine's properties that affect the figures of a run. */
export function machine() {
  const [first] = cpus()
  return {
    node: process.version,
    cpu: first?.model ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    stateDisk: fileSystemOf(cacheDir),
    loadAtStart: Number(loadavg()[0].toFixed(2)),
  }
}

function fileSystemOf(dir) {
  try {
    return execFileSync('stat', ['-f', '-c', '%T', dir], { encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}
