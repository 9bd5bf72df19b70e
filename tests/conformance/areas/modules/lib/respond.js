export class Answer {
    constructor(text) { this.text = text; }
    make() { return new Response(this.text); }
}
