import { cpSync, mkdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { runProcess } from '../../support/process/programs.ts'
import {
  argumentOf,
  type Dockerfile,
  pairsOf,
  type Stage,
  substitute,
  wordsOf,
} from './dockerfile.ts'
import type { Workshop } from './workshop.ts'

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** What came of a stage: its own layer on those below, and how it is run. */
export type Image = {
  /** Folders in the workshop with what was added to the system, the last one first. */
  readonly layers: readonly string[]
  readonly env: ReadonlyMap<string, string>
  readonly labels: ReadonlyMap<string, string>
  readonly user: string
  readonly workdir: string
  readonly entrypoint: readonly string[]
  readonly command: readonly string[]
  readonly health: { readonly flags: string; readonly command: readonly string[] } | undefined
  readonly stopSignal: string | undefined
}

export type BuildInput = {
  readonly workshop: Workshop
  /** Folder in the workshop that COPY takes from. */
  readonly context: string
  readonly buildArgs: ReadonlyMap<string, string>
  /** What a builder gives to every step besides: proxies, where npm keeps its cache. */
  readonly env: Readonly<Record<string, string>>
}

const SYSTEM: Image = {
  layers: [],
  env: new Map([['PATH', PATH]]),
  labels: new Map(),
  user: '0:0',
  workdir: '/',
  entrypoint: [],
  command: [],
  health: undefined,
  stopSignal: undefined,
}

/** Does every step of every stage, in a root of its own over this machine's system, which stands in for the base image. */
export async function build(
  { stages }: Dockerfile,
  input: BuildInput,
): Promise<ReadonlyMap<string, Image>> {
  const images = new Map<string, Image>()
  for (const stage of stages) images.set(stage.name, await buildStage(stage, input, images))
  return images
}

async function buildStage(
  stage: Stage,
  input: BuildInput,
  images: ReadonlyMap<string, Image>,
): Promise<Image> {
  const layer = join(input.workshop.path, 'layers', stage.name)
  mkdirSync(layer, { recursive: true })
  const base = images.get(stage.base) ?? SYSTEM
  let image: Image = { ...base, layers: [layer, ...base.layers] }
  const args = new Map<string, string>()
  for (const { name, text } of stage.instructions) {
    if (name === 'RUN') await run(image, text, args, input)
    else if (name === 'COPY') await copy(image, text, input, images)
    else if (name === 'ARG') declare(text, args, input.buildArgs)
    else image = await configured(image, { name, text: substitute(text, args) }, input)
  }
  return image
}

function declare(
  text: string,
  args: Map<string, string>,
  given: ReadonlyMap<string, string>,
): void {
  const [name, byDefault] = argumentOf(text)
  const value = given.get(name) ?? byDefault
  // An argument without a value is not set in the environment of a step.
  if (value !== '') args.set(name, value)
}

async function run(
  image: Image,
  text: string,
  args: ReadonlyMap<string, string>,
  { workshop, env }: BuildInput,
): Promise<void> {
  const variables = { HOME: '/root', ...env, ...Object.fromEntries([...image.env, ...args]) }
  const assigned = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
  const step = ['sh', '-c', `cd ${image.workdir} && ${text}`]
  await done(`RUN ${text}`, workshop, image, ['env', '-i', ...assigned, ...step])
}

async function done(
  what: string,
  workshop: Workshop,
  image: Image,
  words: readonly string[],
): Promise<void> {
  const [command, args] = workshop.inRoot({ layers: image.layers, isWritable: true }, words)
  const { code, stdout, stderr } = await runProcess(command, args)
  if (code !== 0) throw new Error(`${what} ended with ${code}\n${stdout}\n${stderr}`)
}

/** Files go into the folder, of a folder what is in it. Between stages only folders of the other's own layer are copied. */
async function copy(
  image: Image,
  text: string,
  { workshop, context }: BuildInput,
  images: ReadonlyMap<string, Image>,
): Promise<void> {
  const [, from, rest = ''] = /^(?:--from=(\w+) )?([^-].*)$/.exec(text) ?? []
  const words = rest.split(' ')
  const target = join(image.workdir, words.pop() ?? '')
  if (words.length === 0 || target === '/') throw new Error(`COPY ${text}`)
  const [layer = ''] = image.layers
  await done(`mkdir ${target}`, workshop, image, ['mkdir', '-p', target])
  const source = from === undefined ? context : (images.get(from)?.layers[0] ?? '')
  for (const word of words) {
    const path = join(source, word)
    const to = join(layer, target)
    cpSync(path, statSync(path).isDirectory() ? to : join(to, word), { recursive: true })
  }
}

async function configured(
  image: Image,
  { name, text }: { readonly name: string; readonly text: string },
  { workshop }: BuildInput,
): Promise<Image> {
  switch (name) {
    case 'ENV':
      return { ...image, env: new Map([...image.env, ...pairsOf(text)]) }
    case 'LABEL':
      return { ...image, labels: new Map([...image.labels, ...pairsOf(text)]) }
    case 'USER':
      return { ...image, user: text }
    case 'WORKDIR':
      await done(`WORKDIR ${text}`, workshop, image, ['mkdir', '-p', text])
      return { ...image, workdir: text }
    case 'ENTRYPOINT':
      return { ...image, entrypoint: wordsOf(text), command: [] }
    case 'CMD':
      return { ...image, command: wordsOf(text) }
    case 'STOPSIGNAL':
      return { ...image, stopSignal: text }
    case 'HEALTHCHECK':
      return { ...image, health: healthOf(text) }
    case 'EXPOSE':
      return image
    default:
      throw new Error(`${name} is not known here`)
  }
}

function healthOf(text: string): NonNullable<Image['health']> {
  const [, flags = '', command = ''] = /^((?:--[\w-]+=\S+ )*)CMD (.*)$/.exec(text) ?? []
  return { flags, command: wordsOf(command) }
}

/** Where a path of an image lies in its layers. */
export function inLayers({ layers }: Image, path: string): string {
  const found = layers.map((layer) => join(layer, path)).find((each) => isThere(each))
  if (found === undefined) throw new Error(`no ${path} in ${dirname(layers[0] ?? '')}`)
  return found
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}
