import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import * as z from 'zod'
import { ROOT } from '../support/process/cli.ts'
import { runProcess, temporaryDirectory } from '../support/process/programs.ts'
import { findBinary } from './binary.ts'

const FILES = ['compose.yaml', 'compose.live.yaml'] as const
/** The folder names of docs/deployment.md, for a trading folder. */
const FOLDER = /^\$\{TRANCHED_DIR:\?[^}]+\}/

const bind = z.object({
  type: z.literal('bind'),
  source: z.string(),
  target: z.string(),
  read_only: z.boolean(),
  bind: z.object({ create_host_path: z.boolean() }),
})
const service = z.looseObject({
  image: z.string(),
  build: z.looseObject({ target: z.string() }).optional(),
  command: z.array(z.string()).optional(),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.union([z.string(), bind])).default([]),
})
const compose = z.looseObject({
  services: z.record(z.string(), service),
  volumes: z.record(z.string(), z.null()),
})

type Mounted = { readonly from: string; readonly at: string; readonly isReadOnly: boolean }

let directory: Awaited<ReturnType<typeof temporaryDirectory>>

beforeAll(async () => {
  directory = await temporaryDirectory()
})

afterAll(() => directory?.remove())

function read(file: string): z.infer<typeof compose> {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return compose.parse(parse(text, { merge: true, strict: true }))
}

function servicesOf(file: string): readonly (readonly [string, z.infer<typeof service>])[] {
  return Object.entries(read(file).services)
}

function mountsOf({ volumes }: z.infer<typeof service>): readonly Mounted[] {
  return volumes.map((volume) => {
    if (typeof volume !== 'string')
      return { from: volume.source, at: volume.target, isReadOnly: volume.read_only }
    const [from = '', at = '', mode] = volume.split(':')
    return { from, at, isReadOnly: mode === 'ro' }
  })
}

/** Copies the repository files that a service mounts to where the service sees them. */
async function asMounted(name: string): Promise<string> {
  const root = join(directory.path, name)
  const { [name]: found } = read('compose.yaml').services
  if (found === undefined) throw new Error(`no service ${name}`)
  // Outer paths first: some mounts lie within others.
  const mounts = mountsOf(found).toSorted((a, b) => a.at.length - b.at.length)
  for (const { from, at } of mounts.filter(({ from }) => from.startsWith('./'))) {
    await mkdir(dirname(join(root, at)), { recursive: true })
    await cp(join(ROOT, from), join(root, at), { recursive: true })
  }
  return root
}

test('every port is published to loopback only', () => {
  const ports = FILES.flatMap((file) => servicesOf(file).flatMap(([, { ports }]) => ports))
  expect(ports.length).toBeGreaterThan(2)
  expect(ports.filter((port) => !/^127\.0\.0\.1:\d+:\d+$/.test(port))).toEqual([])
})

test('no service may change its own files, gain rights or fill the disk with its log, and each has resource limits', () => {
  for (const [name, found] of servicesOf('compose.yaml'))
    expect([name, found]).toMatchObject([
      name,
      {
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        restart: 'unless-stopped',
        mem_limit: expect.stringMatching(/^\d+[mg]$/),
        logging: { options: { 'max-size': expect.any(String), 'max-file': expect.any(String) } },
      },
    ])
})

test('every mounted repository file exists and is mounted read-only', () => {
  const mounts = FILES.flatMap((file) => servicesOf(file).flatMap(([, each]) => mountsOf(each)))
  const ours = mounts.filter(({ from }) => from.startsWith('./'))
  expect(ours.length).toBeGreaterThan(3)
  expect(
    ours.filter(({ from, isReadOnly }) => !existsSync(join(ROOT, from)) || !isReadOnly),
  ).toEqual([])
  const foreign = mounts.filter(({ from }) => /[./$]/.test(from) && !from.startsWith('./'))
  expect(foreign).toEqual([
    { from: expect.stringMatching(FOLDER), at: '/etc/tranched', isReadOnly: true },
  ])
})

test('every volume in use is declared, and no two services write one', () => {
  for (const file of FILES) {
    const used = servicesOf(file).flatMap(([, each]) =>
      mountsOf(each).flatMap(({ from }) => (/^[\w-]+$/.test(from) ? [from] : [])),
    )
    expect(used.toSorted()).toEqual(Object.keys(read(file).volumes).toSorted())
  }
})

test('the daemon has time for its open orders, and exit codes that need an operator cause no restart loop', () => {
  const [daemon] = Object.values(read('compose.yaml').services)
  const grace = /^(\d+)s$/.exec(String(daemon?.['stop_grace_period']))?.[1]
  expect(Number(grace)).toBeGreaterThan(40)
  for (const file of FILES) expect(read(file).services['tranched']?.command).toContain('--stay')
})

test('images use stages that exist in the Dockerfile, and run the configs that those copy', () => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  for (const file of FILES) {
    const { build, command = [] } = read(file).services['tranched'] ?? {}
    const stage = dockerfile.slice(dockerfile.indexOf(` AS ${build?.target}\n`))
    const [, defaultArgs = '[]'] = /^CMD (.*)$/m.exec(stage) ?? []
    expect(stage).not.toBe('')
    expect(command.filter((arg) => arg !== '--stay')).toEqual(
      (JSON.parse(defaultArgs) as string[]).filter((arg) => arg !== '--stay'),
    )
  }
})

test('Prometheus finds its mounted rules and scrapes the daemon by its name', async () => {
  const root = await asMounted('prometheus')
  const config = join(root, 'etc/prometheus/prometheus.yml')
  const { code, stdout, stderr } = await runProcess(findBinary('promtool'), [
    'check',
    'config',
    config,
  ])
  expect([code, stderr], stdout).toEqual([0, ''])
  expect(stdout.match(/SUCCESS: \d+ rules found/g)).toHaveLength(2)
  const { scrape_configs: jobs } = parse(readFileSync(config, 'utf8'))
  expect(jobs).toMatchObject([
    { job_name: 'tranched', static_configs: [{ targets: ['tranched:9464'] }] },
  ])
})

test('Grafana finds its dashboards and the Prometheus beside it; all other settings are as shipped', async () => {
  const root = await asMounted('grafana')
  const yaml = (file: string) => parse(readFileSync(file, 'utf8'))
  const { providers } = yaml(join(root, 'etc/grafana/provisioning/dashboards/tranched.yml'))
  const withEnvironment = z.looseObject({ environment: z.record(z.string(), z.string()) })
  const { environment } = withEnvironment.parse(read('compose.yaml').services['grafana'])
  const home = environment['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH'] ?? ''
  expect(dirname(home)).toBe(providers[0].options.path)
  expect(existsSync(join(root, home))).toBe(true)
  const source = 'provisioning/datasources/prometheus.yml'
  const [found] = yaml(join(root, 'etc/grafana', source)).datasources
  const [shipped] = yaml(join(ROOT, 'config/grafana', source)).datasources
  expect(found).toEqual({ ...shipped, url: 'http://prometheus:9090' })
})
