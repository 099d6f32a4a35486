import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'

export type SupervisorInspection = {
  /** `hidden`: the process may not be inspected. `unseen`: neither pm2 nor systemd runs it. */
  readonly kind: 'pm2' | 'systemd' | 'unseen' | 'hidden'
  /** pm2's delay between stopping and killing the process; undefined if not set. */
  readonly killTimeoutMs: number | undefined
  /** True if pm2 would restart it after a reboot; undefined if nothing was saved. */
  readonly isSaved: boolean | undefined
}

type SupervisorOptions = {
  readonly pid: number
  readonly env: Readonly<Record<string, string | undefined>>
  readonly proc?: string
  readonly home?: string
}

/** Reads pm2 and systemd variables of a process, and pm2's saved list. Ignores its other variables, which may hold keys. */
export async function inspectSupervisor(options: SupervisorOptions): Promise<SupervisorInspection> {
  const { pid, env, proc = '/proc', home = homedir() } = options
  const marks = await marksOf(join(proc, String(pid), 'environ'))
  if (marks === undefined) return { kind: 'hidden', killTimeoutMs: undefined, isSaved: undefined }
  const kind = kindOf(marks, pid)
  if (kind !== 'pm2') return { kind, killTimeoutMs: undefined, isSaved: undefined }
  const saved = await savedIn(join(env['PM2_HOME'] ?? join(home, '.pm2'), 'dump.pm2'))
  const app = saved?.find(
    ({ name, pm_exec_path: script = '' }) =>
      name === marks.get('name') || basename(script) === 'tranched.js',
  )
  const killTimeoutMs = numberOf(marks.get('kill_timeout')) ?? numberOf(app?.kill_timeout)
  return { kind, killTimeoutMs, isSaved: saved && app !== undefined }
}

const MARKS = ['pm_id', 'name', 'kill_timeout', 'SYSTEMD_EXEC_PID']

async function marksOf(file: string): Promise<ReadonlyMap<string, string> | undefined> {
  try {
    const pairs = (await readFile(file, 'utf8')).split('\0').map((line): [string, string] => {
      const at = line.indexOf('=')
      return [line.slice(0, at), line.slice(at + 1)]
    })
    return new Map(pairs.filter(([name]) => MARKS.includes(name)))
  } catch {
    return undefined
  }
}

/** Children inherit systemd's variable, so it counts only for the unit's own process. */
function kindOf(marks: ReadonlyMap<string, string>, pid: number): 'pm2' | 'systemd' | 'unseen' {
  if (marks.has('pm_id')) return 'pm2'
  return marks.get('SYSTEMD_EXEC_PID') === String(pid) ? 'systemd' : 'unseen'
}

type SavedApp = {
  readonly name?: string
  readonly pm_exec_path?: string
  readonly kill_timeout?: unknown
}

/** The list of `pm2 save`; undefined if missing or invalid. */
async function savedIn(file: string): Promise<readonly SavedApp[] | undefined> {
  try {
    const saved: unknown = JSON.parse(await readFile(file, 'utf8'))
    return Array.isArray(saved) ? saved : undefined
  } catch {
    return undefined
  }
}

function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}
