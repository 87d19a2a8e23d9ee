<?php
/* Payment module of a small CMS: result handler */

class PaymentCallback
{
    private array $post;

    public function __construct(array $post)
    {
        $this->post = array_map('trim', $post);
    }

    public function run(): void
    {
        if (!$this->checkSign()) {
            http_response_code(403);
            die('bad sign');
        }
        if ($this->post['InvId'] !== 'o-1') {
            http_response_code(404);
            die('unknown order');
        }
        if ($this->post['OutSum'] !== getenv('AMOUNT')) {
            http_response_code(403);
            die('bad sum');
        }
        file_put_contents(getenv('PAID'), $this->post['Status']);
    }

    private function checkSign(): bool
    {
        $sign = md5(($this->post['OutSum'] ?? '') . ':' . ($this->post['InvId'] ?? '') . ':' . getenv('TOKEN'));
        return strcasecmp($sign, $this->post['SignatureValue'] ?? '') === 0;
    }
}

$uri = explode('?', $_SERVER['REQUEST_URI'])[0];
if ($uri !== '/postback') {
    http_response_code(404);
    die('404');
}

// People open this page in a browser too, so do nothing when no data came
if ($_POST) {
    (new PaymentCallback($_POST))->run();
}
echo 'OK';
