/** Calls to the server. The token comes with the address, leaves the address bar at once, and lives in this tab only. */

import type {Job, StoredFile} from './types';

const KEY = 'flowveil-token';
const POLL_MS = 150;

export class ServerError extends Error {
  constructor(
    message: string,
    readonly hint: string,
  ) {
    super(message);
  }
}

function takeToken(): string {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, '', location.pathname);
  }
  return sessionStorage.getItem(KEY) ?? '';
}

const token = takeToken();
const asking = new AbortController();

/** Ask for nothing more: what is removed is not there to be asked about. */
export function askNoMore(): void {
  asking.abort();
}

function failure(text: string): ServerError {
  try {
    const {error, hint} = JSON.parse(text) as {error: string; hint: string};
    return new ServerError(error, hint);
  } catch {
    return new ServerError('the server gave no answer', 'is flowveil serve still running?');
  }
}

async function request(method: string, path: string, body?: unknown): Promise<Response> {
  const headers: Record<string, string> = {Authorization: `Bearer ${token}`};
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let answer: Response;
  try {
    // Kept alive: what is removed must go even when the page does.
    const removes = method === 'DELETE';
    answer = await fetch(path, {method, headers, body: body === undefined ? null : JSON.stringify(body), keepalive: removes, signal: removes ? null : asking.signal});
  } catch {
    throw failure('');
  }
  if (!answer.ok) throw failure(await answer.text());
  return answer;
}

export async function call<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  return (await (await request(method, path, body)).json()) as Answer;
}

/** Fetch a page, to be shown in a frame. */
export async function fetchPage(path: string): Promise<string> {
  return (await request('GET', path)).text();
}

/** Send a file and hear which share of it has gone. */
export function upload(file: File, kind: 'trips' | 'zones', onShare: (share: number) => void): Promise<StoredFile> {
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    sending.open('PUT', `/api/upload?${new URLSearchParams({name: file.name, kind})}`);
    sending.setRequestHeader('Authorization', `Bearer ${token}`);
    sending.upload.onprogress = (event) => onShare(event.total ? event.loaded / event.total : 0);
    sending.onload = () =>
      sending.status === 200
        ? resolve(JSON.parse(sending.responseText) as StoredFile)
        : reject(failure(sending.responseText));
    sending.onerror = () => reject(failure(''));
    sending.send(file);
  });
}

/** Start a job and follow it to its end; a canceled job returns null. */
export async function follow<Result>(
  path: string,
  body: unknown,
  watch: (job: Job<Result>) => void,
): Promise<(Job<Result> & {result: Result}) | null> {
  const first = await call<Job<Result>>('POST', path, body);
  let job = first;
  for (;;) {
    watch(job);
    if (job.state === 'canceled') return null;
    if (job.state === 'failed') throw new ServerError(job.error ?? 'it failed', job.hint ?? '');
    if (job.state === 'done' && job.result !== null) return {...job, command: first.command, python: first.python, result: job.result};
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    job = await call<Job<Result>>('GET', `/api/jobs/${job.id}`);
  }
}

/** Fetch a file and hand it to the user under a name of ours. */
export async function download(path: string, name: string): Promise<void> {
  const address = URL.createObjectURL(await (await request('GET', path)).blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
