import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'

/** Who stands behind a process and starts it again, as far as this machine tells. */
export type SupervisorSight = {
  /** `hidden` where nobody may look at the process; `unseen` where neither of the two is behind it. */
  readonly kind: 'pm2' | 'systemd' | 'unseen' | 'hidden'
  /** How long pm2 waits between asking the process to end and killing it; undefined where it does not say. */
  readonly killTimeoutMs: number | undefined
  /** Whether pm2 would start it again after the machine has; undefined where nothing was saved at all. */
  readonly isSaved: boolean | undefined
}

export type SupervisorOptions = {
  readonly pid: number
  readonly env: Readonly<Record<string, string | undefined>>
  /** Of the running system. */
  readonly proc?: string
  readonly home?: string
}

const SCRIPT = 'tranched.js'

/**
 * Looks at a process's environment, which pm2 and systemd leave their marks in, and at what pm2 has saved. Nothing else of that
 * environment is kept: it may hold keys.
 */
export async function lookAtSupervisor(options: SupervisorOptions): Promise<SupervisorSight> {
  const { pid, env, proc = '/proc', home = homedir() } = options
  const marks = await marksOf(join(proc, String(pid), 'environ'))
  if (marks === undefined) return { kind: 'hidden', killTimeoutMs: undefined, isSaved: undefined }
  const kind = kindOf(marks, pid)
  if (kind !== 'pm2') return { kind, killTimeoutMs: undefined, isSaved: undefined }
  const saved = await savedIn(join(env['PM2_HOME'] ?? join(home, '.pm2'), 'dump.pm2'))
  const isOurs = (app: SavedApp): boolean =>
    app.name === marks.get('name') || basename(app.pm_exec_path ?? '') === SCRIPT
  const app = saved?.find(isOurs)
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

/** The mark of systemd is inherited by whatever a unit starts: it counts for the unit's own process alone. */
function kindOf(marks: ReadonlyMap<string, string>, pid: number): 'pm2' | 'systemd' | 'unseen' {
  if (marks.has('pm_id')) return 'pm2'
  return marks.get('SYSTEMD_EXEC_PID') === String(pid) ? 'systemd' : 'unseen'
}

/** An entry of pm2's dump, as far as it is looked at. */
type SavedApp = {
  readonly name?: string
  readonly pm_exec_path?: string
  readonly kill_timeout?: unknown
}

/** What `pm2 save` wrote; undefined where nothing was saved, or it is no list. */
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
