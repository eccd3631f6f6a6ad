/** The response of a route that sends the browser on, which its route declares under `redirects`. */
export class SeeOther {
  readonly address: string;
  constructor(address: string) {
    this.address = address;
  }
}
